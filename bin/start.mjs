// `npm start`: one node that brings along all it needs.
import './supported-node.mjs';

process.argv.splice(2, 0, 'start');
await import('./troupe.mjs');
