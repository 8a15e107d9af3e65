// Builds a node: its environment, stores, subjects and HTTP server.
export {
  type AtEnd,
  type Close,
  isMember,
  type NodeEnvironment,
  type NodeLimits,
} from './node-environment.js';
export { openStores } from './stores.js';
export { makeSubjects } from './subjects.js';
export { makeHttpServer } from './http-server.js';
