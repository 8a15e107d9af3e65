// What the operator of the installation does with tenants and users, whoever their members are.
export { operatorOperations } from './operations.js';
export { OperatorReports } from './reports.js';
export { tenantRowFrom, userRowFrom } from './shapes.js';
