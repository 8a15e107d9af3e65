// How a node is put together: the ground that every part stands on, the stores, the subjects, the door.
export type { AtEnd, Close, NodeEnvironment } from './node-environment.js';
export { outsideIssuerOf, vendorSettings } from './outside-services.js';
export { openStores } from './stores.js';
export { makeSubjects } from './subjects.js';
export { makeDoor } from './http-server.js';
