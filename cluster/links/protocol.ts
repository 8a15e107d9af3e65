/**
 * The version of the messages between processes (`proto/troupe`). Each minor release has a number of its own, and speaks
 * that of the release before it too: two processes can link if they are at most one release apart.
 */
export const protocolVersion = 3;

/** Processes of these versions link, whatever version of the program they run. */
export interface Protocols {
  readonly min: number;
  readonly max: number;
}

export const spokenProtocols: Protocols = { min: protocolVersion - 1, max: protocolVersion };

/** Version 2 was the last whose processes do not state their versions. */
export const unstatedProtocols: Protocols = { min: 2, max: 2 };

/** The highest version that both speak. */
export function commonProtocol(one: Protocols, other: Protocols): number | undefined {
  const highest = Math.min(one.max, other.max);
  return highest < Math.max(one.min, other.min) ? undefined : highest;
}

export function rangeText({ min, max }: Protocols): string {
  return min === max ? `${min}` : `${min} to ${max}`;
}

export const apartTooFar =
  'releases more than one apart cannot run side by side: upgrade to the release between them first, or stop all ' +
  'nodes before the upgrade';
