import { type Platform, type PlatformLog, systemPlatform } from '../../../src/infra/platform/index.js';

/** A log that hands what is reported to the test. */
export function logTo(report: PlatformLog['report']): PlatformLog {
  return { report, note: () => undefined };
}

/** The machine's clock and chance with the parts of the platform that a test brings. */
export function platformOf<Parts extends Partial<Platform>>(parts: Parts): typeof systemPlatform & Parts {
  return { ...systemPlatform, ...parts };
}
