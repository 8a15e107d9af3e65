import { ClusterError } from '../../errors.js';
import { viewNumber, type ProcessId } from '../../ids/ids.js';
import type { Member, Membership, Standing, View } from '../membership.js';
import { emptyView, makeView } from '../view.js';

/** Membership of a single node: a view of itself, and no lease to lose. */
export class LocalMembership implements Membership {
  readonly self: Member;
  readonly leavers = { members: () => [], why: () => undefined };
  readonly #listeners = new Set<(view: View) => void>();
  #view: View = emptyView;
  #standing: Standing = 'joining';

  constructor(self: Member) {
    this.self = self;
  }

  view(): View {
    return this.#view;
  }

  standing(): Standing {
    return this.#standing;
  }

  leaseAgeMs(): undefined {
    return undefined;
  }

  onView(listener: (view: View) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onFenced(): () => void {
    return () => {};
  }

  mayAdmit(): boolean {
    return this.#standing === 'member';
  }

  mayAct(): boolean {
    return true;
  }

  /** Only one node runs at a time, so any other process id belongs to an earlier start. */
  surelyGone(process: ProcessId): boolean {
    return process !== this.self.process;
  }

  whenSurelyGone(process: ProcessId): Promise<void> {
    return this.surelyGone(process)
      ? Promise.resolve()
      : Promise.reject(new ClusterError('not_serving', 'a process cannot wait for its own end'));
  }

  reportRefused(): void {}

  reportExited(): void {}

  catchUp(): Promise<void> {
    return Promise.resolve();
  }

  start(): Promise<void> {
    this.#standing = 'member';
    this.#adopt(makeView(viewNumber(1), [this.self]));
    return Promise.resolve();
  }

  /** Stays in its own view: no other node takes over, and running work must be able to end. */
  beginLeave(): Promise<void> {
    this.#standing = 'left';
    return Promise.resolve();
  }

  leave(): Promise<void> {
    this.#standing = 'left';
    this.#adopt(makeView(viewNumber(2), []));
    return Promise.resolve();
  }

  #adopt(view: View): void {
    this.#view = view;
    for (const listener of this.#listeners) listener(view);
  }
}
