export { describeSettings, type Environment, readSettings, SettingsError } from './read.js';
export { type Settings, settingTable } from './settings.js';
export { version } from './version.js';
export { readSecretAt } from './secret-reference.js';
