export * from './config.js';
export * from './errors.js';
export * from './fencing/fence.js';
export * from './ids/ids.js';
export * from './membership/membership.js';
export * from './time/backoff.js';
export * from './time/system.js';
export * from './time/time.js';
