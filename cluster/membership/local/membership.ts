import { ClusterError } from '../../errors.js';
import { viewNumber, type ProcessId } from '../../ids/ids.js';
import type { Member, Membership, Standing, View } from '../membership.js';
import { emptyView, makeView } from '../view.js';

/** One node that needs nobody: a view of itself, and no lease that could be lost. */
export class LocalMembership implements Membership {
  readonly self: Member;
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

  /** Any other process is one of an earlier start: this node is the only one that ever runs at a time. */
  surelyGone(process: ProcessId): boolean {
    return process !== this.self.process;
  }

  whenSurelyGone(process: ProcessId): Promise<void> {
    return this.surelyGone(process)
      ? Promise.resolve()
      : Promise.reject(new ClusterError('not_serving', 'a process does not outlive itself'));
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

  /** Stays in its own view: there is nobody to hand over to, and what is under way must be able to end. */
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
