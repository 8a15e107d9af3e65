export { edgeMeasures } from './measures.js';
export type { OpenStreams, StreamOwner } from './open-streams.js';
export type { RequestReport } from './pipeline.js';
export { type EdgeOptions, type EdgeParts, EdgeServer } from './server.js';
export { createRequestReporter } from './request-log.js';
