// Only what Headway's report draws: each line here costs every report its size.
import * as core from "echarts/core";
import { CustomChart, LineChart } from "echarts/charts";
import {
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  TooltipComponent,
} from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

core.use([
  CustomChart, // bars, confidence bands, error bars, published values
  LineChart, // everything else
  DataZoomInsideComponent, // time series: drag, wheel, pinch
  DataZoomSliderComponent,
  GridComponent,
  TooltipComponent,
  SVGRenderer, // sharp in print; pictures are made of the SVG
]);

export const { init, connect, disconnect, version } = core;
