import { ClusterError } from '../../errors.js';
import { processId, viewNumber } from '../../ids/ids.js';
import type { Departed, Lease, Snapshot, StoredLease } from '../member-store.js';
import type { Member, Role, View } from '../membership.js';
import { readVersion } from '../stated-version.js';
import { makeView } from '../view.js';

/** The part of a lease record after the renewal count and times; `renew.lua` reads its first word. */
export function leaseText(lease: Lease): string {
  const { leaving, promisedMs, holds, member } = lease;
  return `${leaving ? 1 : 0} ${promisedMs} ${holds} ${JSON.stringify(member)}`;
}

export function viewText(view: View): string {
  return `${view.number} ${view.hash} ${JSON.stringify(view.members)}`;
}

const leasePattern = /^(\d+) \d+ (\d+) ([01]) (\d+) (\d+) (\{.*\})$/;
const departedPattern = /^(\d+) \d+$/;
const viewPattern = /^(\d+) ([0-9a-f]+) (\[.*\])$/;

/** Alternating fields and values of the hash. */
export function parseSnapshot(answer: unknown): Snapshot {
  if (!Array.isArray(answer)) throw badRecord('the answer is not a list');
  let generation: string | undefined;
  let generationAgeMs = 0;
  let view: View | undefined;
  const leases: StoredLease[] = [];
  const departed: Departed[] = [];
  for (let index = 0; index + 1 < answer.length; index += 2) {
    const field: unknown = answer[index];
    const value: unknown = answer[index + 1];
    if (typeof field !== 'string' || typeof value !== 'string')
      throw badRecord('a field or value is not a string');
    if (field === 'mark') generation = value;
    else if (field === 'mark-age') generationAgeMs = parseAge(value);
    else if (field === 'view') view = parseView(value);
    else if (field.startsWith('lease:')) leases.push(parseLease(value));
    else if (field.startsWith('left:')) departed.push(parseDeparted(field.slice('left:'.length), value));
  }
  if (generation === undefined) throw badRecord('the generation mark is missing');
  return { generation, generationAgeMs, leases, departed, view };
}

function parseAge(text: string): number {
  const ageMs = Number(text);
  // After the clock was set back the age is unknown.
  return Number.isFinite(ageMs) && ageMs > 0 ? ageMs : 0;
}

function parseLease(text: string): StoredLease {
  const [, renewals, lateMs, leaving, promisedMs, holds, member] = leasePattern.exec(text) ?? [];
  if (member === undefined) throw badRecord(`invalid lease: ${text.slice(0, 80)}`);
  return {
    member: parseMember(JSON.parse(member)),
    renewals: Number(renewals),
    lateMs: Number(lateMs),
    promisedMs: Number(promisedMs),
    holds: viewNumber(Number(holds)),
    leaving: leaving === '1',
  };
}

function parseDeparted(process: string, text: string): Departed {
  const [, promisedMs] = departedPattern.exec(text) ?? [];
  if (promisedMs === undefined) throw badRecord(`invalid departure record: ${text.slice(0, 80)}`);
  return { process: processId(process), promisedMs: Number(promisedMs) };
}

function parseView(text: string): View {
  const [, number, hash, members] = viewPattern.exec(text) ?? [];
  const list: unknown = members === undefined ? undefined : JSON.parse(members);
  if (!Array.isArray(list)) throw badRecord(`invalid view: ${text.slice(0, 80)}`);
  const view = makeView(viewNumber(Number(number)), list.map(parseMember));
  if (view.hash !== hash) throw badRecord(`view ${number}: the hash does not match its members`);
  return view;
}

function parseMember(value: unknown): Member {
  if (typeof value !== 'object' || value === null) throw badRecord('a member is not an object');
  const { process, address, weight, roles, host, pid } = value as Partial<Record<keyof Member, unknown>>;
  if (
    typeof process !== 'string' ||
    typeof address !== 'string' ||
    typeof weight !== 'number' ||
    typeof host !== 'string' ||
    typeof pid !== 'number' ||
    !Array.isArray(roles)
  ) {
    throw badRecord('a member lacks a field or has one of the wrong type');
  }
  return {
    process: processId(process),
    address,
    weight,
    roles: roles.filter(isRole),
    host,
    pid,
    ...readVersion(value),
  };
}

/** Ignores roles that only a newer version knows. */
function isRole(value: unknown): value is Role {
  return value === 'edge' || value === 'worker';
}

function badRecord(reason: string): ClusterError {
  return new ClusterError(
    'membership_unavailable',
    `the member store (Redis) holds an invalid record: ${reason}`,
  );
}
