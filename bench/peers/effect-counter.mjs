// A counter as an entity of Effect Cluster whose messages are not stored. `runner` hosts it; `caller` calls it from
// another process: on a message { seconds, inFlight } it answers with its rate. SQL only holds the registry of runners
// and the locks of shards.
import {
  Entity,
  MessageStorage,
  RunnerAddress,
  Sharding,
  ShardingConfig,
  SqlRunnerStorage,
} from '@effect/cluster';
import { NodeClusterSocket } from '@effect/platform-node';
import { Rpc } from '@effect/rpc';
import { PgClient } from '@effect/sql-pg';
import { Effect, Layer, Logger, LogLevel, ManagedRuntime, Option, Redacted, Schema } from 'effect';

const [role, databaseUrl, port] = process.argv.slice(2);
const Counter = Entity.make('Counter', [
  Rpc.make('Add', { payload: { amount: Schema.Number }, success: Schema.Number }),
]);
const database = PgClient.layer({ url: Redacted.make(databaseUrl) });
const address = Option.some(RunnerAddress.make('127.0.0.1', Number(port)));
const isCaller = role === 'caller';
const shardingConfig = isCaller
  ? { runnerAddress: Option.none() }
  : { runnerAddress: address, runnerListenAddress: address };
const cluster = NodeClusterSocket.layer({ storage: 'byo', clientOnly: isCaller, shardingConfig }).pipe(
  Layer.provideMerge(MessageStorage.layerNoop),
  Layer.provide(Layer.orDie(SqlRunnerStorage.layer)),
  Layer.provide(ShardingConfig.layer(shardingConfig)),
  Layer.provide(database),
);
const counting = Counter.toLayer(
  Effect.sync(() => {
    let sum = 0;
    return {
      Add: ({ payload }) =>
        Effect.sync(() => {
          sum += payload.amount;
          return sum;
        }),
    };
  }),
  { maxIdleTime: '10 minutes' },
);
const quiet = Logger.minimumLogLevel(LogLevel.Warning);

if (!isCaller) {
  const runtime = ManagedRuntime.make(counting.pipe(Layer.provideMerge(cluster), Layer.provide(quiet)));
  await runtime.runPromise(Sharding.Sharding);
  process.send?.({ port: Number(port) });
} else {
  const runtime = ManagedRuntime.make(cluster.pipe(Layer.provide(quiet)));
  const client = await runtime.runPromise(Counter.client);
  const entities = Array.from({ length: 256 }, (_, index) => client(`counter-${index}`));
  process.on('message', (order) => {
    drive(runtime, entities, order).then(
      (answer) => process.send?.(answer),
      (error) => process.send?.({ failed: String(error) }),
    );
  });
  process.send?.({ port: 0 });
}
process.on('disconnect', () => process.exit(0));

async function drive(runtime, entities, { seconds, inFlight }) {
  const latencies = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  const one = Effect.gen(function* () {
    for (;;) {
      const sentAt = performance.now();
      if (sentAt >= endsAt) return;
      yield* entities[latencies.length % entities.length].Add({ amount: 1 });
      latencies.push(performance.now() - sentAt);
    }
  });
  const lanes = Array.from({ length: inFlight }, () => one);
  await runtime.runPromise(Effect.all(lanes, { concurrency: 'unbounded', discard: true }));
  const perSecond = (latencies.length * 1_000) / (performance.now() - startedAt);
  latencies.sort((left, right) => left - right);
  return { perSecond, p50Ms: latencies[latencies.length >> 1] };
}
