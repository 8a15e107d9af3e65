// The console: the built pages of `console/`, served from memory.
export { consolePages, referencePage } from './pages.js';
export { readConsole } from './files.js';
