import { viewNumber, type ProcessId } from '../ids/ids.js';
import type { KnownLeavers, Member, Membership, Standing, View } from '../membership/membership.js';
import { emptyView, makeView } from '../membership/view.js';

/** Views that a test sets directly, for tests of the layers above membership. */
export class ScriptedMembers {
  readonly #members = new Map<ProcessId, ScriptedMembership>();
  readonly #gone = new Set<ProcessId>();
  readonly #leaving = new Set<ProcessId>();
  readonly #waiting: { readonly process: ProcessId; readonly resolve: () => void }[] = [];
  #number = 0;
  #view: View = emptyView;

  join(self: Member): ScriptedMembership {
    const membership = new ScriptedMembership(self, this);
    this.#members.set(self.process, membership);
    return membership;
  }

  get view(): View {
    return this.#view;
  }

  /** Only the `notified` processes receive the view at once; the others receive it when they catch up. */
  publish(processes: readonly ProcessId[], notified: readonly ProcessId[] = [...this.#members.keys()]): View {
    this.#number += 1;
    const members = processes.flatMap((process) => this.#members.get(process)?.self ?? []);
    this.#view = makeView(viewNumber(this.#number), members);
    for (const process of notified) this.#members.get(process)?.adopt(this.#view);
    return this.#view;
  }

  remove(process: ProcessId): void {
    this.publish(this.#view.members.map((member) => member.process).filter((other) => other !== process));
  }

  leave(process: ProcessId): void {
    this.#leaving.add(process);
    this.remove(process);
  }

  /** Those that leave in order and have not ended. */
  leavers(): Member[] {
    return [...this.#leaving].flatMap((process) =>
      this.#gone.has(process) ? [] : (this.#members.get(process)?.self ?? []),
    );
  }

  isGone(process: ProcessId): boolean {
    return this.#gone.has(process);
  }

  declareGone(process: ProcessId): void {
    this.#gone.add(process);
    for (const waiter of this.#waiting) if (waiter.process === process) waiter.resolve();
  }

  whenGone(process: ProcessId): Promise<void> {
    if (this.#gone.has(process)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ process, resolve });
    });
  }
}

export class ScriptedMembership implements Membership {
  readonly self: Member;
  readonly leavers: KnownLeavers;
  readonly refused: ProcessId[] = [];
  readonly #members: ScriptedMembers;
  readonly #onView = new Set<(view: View) => void>();
  readonly #onFenced = new Set<() => void>();
  #view: View = emptyView;
  #standing: Standing = 'joining';

  constructor(self: Member, members: ScriptedMembers) {
    this.self = self;
    this.#members = members;
    this.leavers = { members: () => members.leavers(), why: () => undefined };
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
    this.#onView.add(listener);
    return () => this.#onView.delete(listener);
  }

  onFenced(listener: () => void): () => void {
    this.#onFenced.add(listener);
    return () => this.#onFenced.delete(listener);
  }

  mayAdmit(): boolean {
    return this.#standing === 'member';
  }

  mayAct(): boolean {
    return this.#standing !== 'fenced';
  }

  surelyGone(process: ProcessId): boolean {
    return this.#members.isGone(process);
  }

  whenSurelyGone(process: ProcessId): Promise<void> {
    return this.#members.whenGone(process);
  }

  reportRefused(process: ProcessId): void {
    this.refused.push(process);
  }

  reportExited(process: ProcessId): void {
    this.#members.declareGone(process);
  }

  catchUp(): Promise<void> {
    this.adopt(this.#members.view);
    return Promise.resolve();
  }

  start(): Promise<void> {
    this.#standing = 'member';
    return Promise.resolve();
  }

  beginLeave(): Promise<void> {
    this.#members.leave(this.self.process);
    return Promise.resolve();
  }

  leave(): Promise<void> {
    this.#standing = 'left';
    this.#members.declareGone(this.self.process);
    return Promise.resolve();
  }

  adopt(view: View): void {
    if (view.number <= this.#view.number) return;
    this.#view = view;
    for (const listener of this.#onView) listener(view);
  }

  /** The lease is found to be lost. */
  fence(): void {
    this.#standing = 'fenced';
    for (const listener of this.#onFenced) listener();
  }
}
