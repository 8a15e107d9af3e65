/** The messages between a node and its child processes. */

/** An order to the child. It loads the module before the first task of its kind. */
export type Order =
  | { readonly kind: 'load'; readonly module: string }
  | { readonly kind: 'run'; readonly module: string; readonly input: unknown };

export type Report =
  | { readonly kind: 'loaded'; readonly module: string }
  | { readonly kind: 'done'; readonly output: unknown; readonly cpuMs: number }
  | {
      readonly kind: 'failed';
      readonly failure: TaskFailure;
      readonly reason: string;
      readonly cpuMs: number;
    };

export type TaskFailure =
  /** The task threw an error. */
  | 'failed'
  | 'timeout'
  /** The task needed more memory, or a deeper stack, than it may use. */
  | 'too-large';

/** The export of a task's module. */
export interface TaskModule {
  readonly run: (input: never) => unknown;
}
