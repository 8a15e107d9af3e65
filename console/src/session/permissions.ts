// The node's own table of permissions, so that the console offers what the API allows.
export { allows as roleAllows, type Permission } from '../../../src/http/operations/permissions';
