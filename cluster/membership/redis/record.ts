import { ClusterError } from '../../errors.js';
import { type ProcessId, processId, viewNumber } from '../../ids/ids.js';
import type { Departed, Lease, Snapshot, StoredLease } from '../member-store.js';
import type { Member, Role, View } from '../membership.js';
import { readVersion } from '../stated-version.js';
import { makeView } from '../view.js';

/**
 * The part of a lease record after the renewal count and times; `renew.lua` reads its first word. `packs` says that the
 * script by which the process renews keeps what changes in the packed string too.
 */
export function leaseText(lease: Lease): string {
  const { leaving, promisedMs, holds, member } = lease;
  return `${leaving ? 1 : 0} ${promisedMs} ${holds} ${JSON.stringify({ ...member, packs: 1 })}`;
}

export function viewText(view: View): string {
  return `${view.number} ${view.hash} ${JSON.stringify(view.members)}`;
}

const leasePattern = /^(\d+) \d+ (\d+) ([01]) (\d+) (\d+) (\{.*\})$/;
const departedPattern = /^(\d+) \d+$/;
const viewPattern = /^(\d+) ([0-9a-f]+) (\[.*\])$/;

/** A snapshot, and the name of its layout; `order` are the leases by their places in it. */
export interface WholeState {
  readonly snapshot: Snapshot;
  readonly layout: string | undefined;
  readonly order: readonly StoredLease[];
}

/** What `state` in `packing.lua` returns after the time. `known` was named by the request. */
export function parseState(answer: readonly unknown[], known: WholeState | undefined): WholeState {
  const [mark, age, state] = answer;
  if (typeof mark !== 'string') throw badRecord('the generation mark is missing');
  const generationAgeMs = parseAge(age);
  if (Array.isArray(state)) return parseWhole(state, mark, generationAgeMs);
  if (typeof state !== 'string' || known === undefined) throw badRecord('the answer is of an unknown kind');
  const leases = parseNumbers(state, known.order);
  return { ...known, snapshot: { ...known.snapshot, generation: mark, generationAgeMs, leases } };
}

/** Alternating fields and values of the hash. */
function parseWhole(entries: readonly unknown[], generation: string, generationAgeMs: number): WholeState {
  let view: View | undefined;
  let layout: string | undefined;
  let processes = '';
  const leases: StoredLease[] = [];
  const departed: Departed[] = [];
  for (const [field, value] of pairs(entries)) {
    if (field === 'view') view = parseView(value);
    else if (field === 'layout') layout = value;
    // The last one is the newest: a script that makes a layout adds it to what it has read.
    else if (field === 'layout-order') processes = value;
    else if (field.startsWith('lease:')) leases.push(parseLease(value));
    else if (field.startsWith('left:')) departed.push(parseDeparted(field.slice('left:'.length), value));
  }
  const order = layout === undefined ? [] : inOrder(leases, processes);
  return { snapshot: { generation, generationAgeMs, leases, departed, view }, layout, order };
}

export function placeIn(state: WholeState | undefined, process: ProcessId): number | undefined {
  const place = state?.order.findIndex(({ member }) => member.process === process) ?? -1;
  return place < 0 ? undefined : place;
}

function inOrder(leases: readonly StoredLease[], processes: string): readonly StoredLease[] {
  const byProcess = new Map<string, StoredLease>(leases.map((lease) => [lease.member.process, lease]));
  return processes.split(' ').flatMap((process) => byProcess.get(process) ?? []);
}

function pairs(list: readonly unknown[]): (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  for (let index = 0; index + 1 < list.length; index += 2) {
    const [name, value] = [list[index], list[index + 1]];
    if (typeof name !== 'string' || typeof value !== 'string')
      throw badRecord('a field or value is not a string');
    found.push([name, value]);
  }
  return found;
}

/** Where each number of a lease begins in its digits, as `packedNumbers` in `packing.lua` writes them. */
const renewalsAt = 0;
const lateAt = 7;
const leavingAt = 12;
const promisedAt = 13;
const holdsAt = 18;
const width = 24;

function parseNumbers(text: string, order: readonly StoredLease[]): readonly StoredLease[] {
  if (text.length !== order.length * width) throw badRecord('the packed leases have another length');
  return order.map(({ member }, place) => {
    const from = place * width;
    const number = (at: number, end: number): number => {
      const value = Number.parseInt(text.slice(from + at, from + end), 16);
      if (!Number.isInteger(value))
        throw badRecord(`invalid packed lease: ${text.slice(from, from + width)}`);
      return value;
    };
    return {
      member,
      renewals: number(renewalsAt, lateAt),
      lateMs: number(lateAt, leavingAt),
      promisedMs: number(promisedAt, holdsAt),
      holds: viewNumber(number(holdsAt, width)),
      leaving: number(leavingAt, promisedAt) === 1,
    };
  });
}

function parseAge(text: unknown): number {
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
