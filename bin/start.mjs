// `npm start`: one node that starts its own database.
import './supported-node.mjs';

process.argv.splice(2, 0, 'start');
await import('./troupe.mjs');
