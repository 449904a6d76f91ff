//! Tables in Arrow's layout, handed over through the PyCapsule interface without copies.

pub mod sweeps;
pub mod text;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, SchemaRef};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

/// A table that does not change.
#[pyclass(frozen, module = "headway._native")]
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Table {
        Table { schema, batches }
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

#[pymethods]
impl Table {
    /// How many rows there are.
    fn num_rows(&self) -> usize {
        self.rows()
    }

    /// Names and types of the columns.
    fn columns(&self) -> Vec<(String, String)> {
        self.schema.fields().iter().map(|field| (field.name().clone(), field.data_type().to_string())).collect()
    }

    /// The values of a column from row `start` to before row `stop`, copied.
    fn column(&self, py: Python<'_>, name: &str, start: usize, stop: usize) -> PyResult<Py<PyList>> {
        let index = self.schema.index_of(name).map_err(|_| PyKeyError::new_err(name.to_owned()))?;
        let list = PyList::empty(py);
        let mut first = 0;
        for batch in &self.batches {
            let rows = batch.num_rows();
            let from = start.clamp(first, first + rows) - first;
            let to = stop.clamp(first, first + rows) - first;
            first += rows;
            if from < to {
                append(&list, &batch.column(index).slice(from, to - from))?;
            }
        }
        Ok(list.unbind())
    }

    /// The schema, as the Arrow PyCapsule interface wants it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(crate::errors::bug)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The table as a stream of batches. Their memory is shared with this table. A requested schema is not looked at,
    /// which the interface allows: consumers cast.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}

/// Puts the values of `array` behind those of `list`.
fn append(list: &Bound<'_, PyList>, array: &dyn Array) -> PyResult<()> {
    macro_rules! numbers {
        ($kind:ty) => {
            array.as_primitive::<$kind>().iter().try_for_each(|value| list.append(value))
        };
    }
    match array.data_type() {
        DataType::Float64 => numbers!(Float64Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Boolean => array.as_boolean().iter().try_for_each(|value| list.append(value)),
        DataType::Utf8 => array.as_string::<i32>().iter().try_for_each(|value| list.append(value)),
        other => Err(crate::errors::bug(format!("a column of {other}"))),
    }
}
