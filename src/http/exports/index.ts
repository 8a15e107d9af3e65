// The public interface of exports: files with all rows of a tenant, written while they are read.
export { type ExportKind, exportKinds, exportOperations } from './operations.js';
export { type ExportedRow, type ExportSource, keysetSource } from './source.js';
