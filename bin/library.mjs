// `import 'troupe'`: the setting of the HTTP server comes before the server itself.
import './supported-node.mjs';
import './header-size.mjs';

export * from '../dist/src/app/library.js';
