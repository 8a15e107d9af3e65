import type { ActorKindOf, Kind } from '../activation/kind.js';
import type { Method, ServiceShape } from '../activation/method.js';
import type { CallOptions, Reference } from '../activation/service.js';
import { targetOf, type Target } from './target.js';

export interface Caller {
  unary(target: Target, method: Method, input: unknown, options: CallOptions | undefined): Promise<unknown>;
  stream(target: Target, method: Method, input: unknown, options: CallOptions | undefined): unknown;
}

class ReferenceBase {
  readonly target: Target;

  constructor(target: Target) {
    this.target = target;
  }
}

/** Creates references to actors of one kind. The methods are on a prototype, so each reference is one object. */
export function referencesTo<Service extends ServiceShape>(
  kind: ActorKindOf<Service>,
  caller: Caller,
): (group: string, key: string) => Reference<Service> {
  class ActorReference extends ReferenceBase {}
  for (const [name, method] of kind.methods) {
    const send = method.streams ? caller.stream.bind(caller) : caller.unary.bind(caller);
    Object.defineProperty(ActorReference.prototype, name, {
      value(this: ReferenceBase, input: unknown, options?: CallOptions): unknown {
        return send(this.target, method, input, options);
      },
    });
  }
  const constructed: new (target: Target) => object = ActorReference;
  if (!isReferenceTo<Service>(constructed, kind)) throw new TypeError(`${kind.name} has no methods`);
  return (group, key) => new constructed(targetOf(kind, group, key));
}

/** The only place that assigns references their types: the prototype has each method of the service. */
function isReferenceTo<Service extends ServiceShape>(
  candidate: new (target: Target) => object,
  kind: Kind,
): candidate is new (target: Target) => Reference<Service> {
  for (const name of kind.methods.keys()) {
    if (typeof Reflect.get(candidate.prototype, name) !== 'function') return false;
  }
  return true;
}
