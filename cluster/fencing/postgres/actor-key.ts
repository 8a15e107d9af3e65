import { createHash } from 'node:crypto';
import type { ActorAddress } from '../../ids/ids.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A group that is not a UUID is stored under a hash of its name: the tables are partitioned by a UUID column. */
export function groupId(group: string): string {
  if (uuid.test(group)) return group;
  const hex = createHash('sha256').update(group).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  );
}

/** The key columns of the actor's row. */
export function keyOf({ group, kind, key }: ActorAddress): string[] {
  return [groupId(group), kind, key];
}
