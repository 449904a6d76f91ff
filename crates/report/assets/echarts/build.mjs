// Bundles entry.js to echarts.min.js. `make echarts` runs it after `npm ci`.
import { build } from "esbuild";
import { readFileSync, statSync } from "node:fs";

const LIMIT = 600_000; // bytes: a report has 1.5 MB for everything

const { version } = JSON.parse(readFileSync("node_modules/echarts/package.json", "utf8"));
const banner = `/*!
 * Apache ECharts ${version}, custom build for Headway (entry.js beside the source of this file).
 * Copyright 2017-2025 The Apache Software Foundation. Licensed under the Apache License, Version 2.0:
 * http://www.apache.org/licenses/LICENSE-2.0
 * With zrender (BSD 3-Clause, Copyright (c) 2017 Baidu Inc.) and tslib (0BSD, Copyright (c) Microsoft Corporation).
 */`;
await build({
  entryPoints: ["entry.js"],
  outfile: "echarts.min.js",
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "echarts",
  target: "es2020",
  charset: "utf8",
  legalComments: "none", // the banner has them, once
  banner: { js: banner },
  define: { "process.env.NODE_ENV": '"production"' },
});
const { size } = statSync("echarts.min.js");
console.log(`echarts.min.js: ECharts ${version}, ${size} bytes`);
if (size > LIMIT) {
  console.error(`more than ${LIMIT} bytes: leave something out of entry.js`);
  process.exit(1);
}
