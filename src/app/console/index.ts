// The console: the built pages of `console/`, served from memory.
export { consolePages, referencePage } from './pages.js';
export { fileReply } from './file-reply.js';
export { type PackedFile, readConsole, readPacked } from './files.js';
