import { isIPv6 } from 'node:net';
import {
  ChannelCredentials,
  Client,
  Metadata,
  Server,
  ServerCredentials,
  type handleBidiStreamingCall,
  type ServerDuplexStream,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import {
  CallsRequest,
  CallsResponse,
  PeerServiceDefinition,
  ProbesRequest,
  ProbesResponse,
} from '../../../generated/troupe/cluster/v1/link.js';
import type { ClusterConfig } from '../../config.js';
import { ClusterError } from '../../errors.js';
import type { Member } from '../../membership/membership.js';
import type { PeerProbe, ProbeAnswer, ProbeReply, ProbeRequest } from '../../membership/peer-probe.js';
import type { Random, Time } from '../../time/time.js';
import { spokenProtocols } from '../protocol.js';
import { LinkTroubles } from '../link-troubles.js';
import type { Listener, Pipe, Transport } from '../pipe.js';
import { ProbeLinks } from '../probe-links.js';
import { BoundCredentials, plainBinding } from './credentials.js';
import { LinkListener } from './link-listener.js';
import { isLoopback } from './loopback.js';
import { GrpcPipe, type BatchCodec } from './pipe.js';
import { RenewableTls } from './renewable-tls.js';
import { clientOptions, serverOptions, type GrpcSettings } from './settings.js';

type Purpose = 'calls' | 'probes';

const paths: Readonly<Record<Purpose, string>> = {
  calls: `/${PeerServiceDefinition.fullName}/Calls`,
  probes: `/${PeerServiceDefinition.fullName}/Probes`,
};
const requests: Readonly<Record<Purpose, BatchCodec>> = { calls: CallsRequest, probes: ProbesRequest };
const responses: Readonly<Record<Purpose, BatchCodec>> = { calls: CallsResponse, probes: ProbesResponse };

/** No decoding here: the pipe decodes, because it knows whether it may trust the sender. */
const asBytes = (bytes: Buffer): Buffer => bytes;
const service: ServiceDefinition = {
  calls: byteStream(paths.calls),
  probes: byteStream(paths.probes),
};

/**
 * gRPC between the processes of a cluster. Each link carries its calls on one bidirectional stream. Probes have a
 * stream on a separate connection, so that megabytes of calls never make a peer look dead. Every connection sets
 * TCP_NODELAY, so that the frames of one turn are sent at once.
 */
export class GrpcPeers implements Transport, PeerProbe {
  readonly #settings: GrpcSettings;
  readonly #config: ClusterConfig;
  readonly #time: Time;
  readonly #troubles: LinkTroubles;
  readonly #probes: ProbeLinks;
  readonly #tls: RenewableTls | undefined;

  constructor(settings: GrpcSettings, config: ClusterConfig, time: Time, random: Random) {
    this.#settings = settings;
    const { tls } = settings;
    this.#tls = tls === undefined || tls instanceof RenewableTls ? tls : new RenewableTls(tls);
    this.#config = config;
    this.#time = time;
    this.#troubles = new LinkTroubles(time, settings.report ?? (() => undefined));
    const { cluster, secret, self } = settings;
    this.#probes = new ProbeLinks({
      settings: {
        cluster,
        secret,
        self,
        purpose: 'probes',
        // The asker sets its own, shorter time-out.
        timeoutMs: config.greetingMs,
        protocols: spokenProtocols,
      },
      time,
      random,
      probesMax: config.probesMax,
      dial: (peer) => this.#open(peer, 'probes'),
    });
  }

  dial(peer: Member, signal: AbortSignal): Promise<Pipe> {
    if (signal.aborted) return Promise.reject(new ClusterError('cancelled', 'the dial was cancelled'));
    let pipe: Pipe;
    try {
      pipe = this.#open(peer, 'calls');
    } catch (error) {
      return Promise.reject(error);
    }
    signal.addEventListener('abort', () => pipe.close(), { once: true });
    // The greeting that follows shows whether a peer answers.
    return Promise.resolve(pipe);
  }

  async listen(accept: (pipe: Pipe) => void): Promise<Listener> {
    const { host, port, advertise } = this.#settings;
    const tls = this.#tls;
    if (tls === undefined) this.#mayTalkPlainly(host, 'listen on');
    const server = new Server(serverOptions(this.#config));
    // `LinkListener` handles TLS, because proofs are bound to its connections.
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    const listener = new LinkListener({
      host,
      port,
      tls,
      time: this.#time,
      config: this.#config,
      inject: (connection) => injector.injectConnection(connection),
      trouble: (peer, error) => this.#troubles.tell(peer, error),
    });
    const taker =
      (purpose: Purpose, take: (pipe: Pipe) => void): handleBidiStreamingCall<Buffer, Buffer> =>
      (stream) => {
        const pipe = this.#accept(listener, stream, purpose);
        if (pipe !== undefined) take(pipe);
      };
    server.addService(service, {
      calls: taker('calls', accept),
      probes: taker('probes', (pipe) => void this.#probes.serve(pipe)),
    });
    const bound = await listener.listen();
    const address = withPort(advertise ?? host, bound);
    listener.announce(address);
    return { address, close: () => this.#close(server, listener) };
  }

  answerWith(handler: (request: ProbeRequest) => ProbeReply | Promise<ProbeReply>): void {
    this.#probes.answerWith(handler);
  }

  ask(peer: Member, request: ProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
    return this.#probes.ask(peer, request, signal);
  }

  #open(peer: Member, purpose: Purpose): Pipe {
    const tls = this.#tls?.current;
    if (tls === undefined) this.#mayTalkPlainly(peer.address, 'dial');
    const secured = tls === undefined ? undefined : new BoundCredentials(tls);
    const options = clientOptions(this.#config, tls);
    const client = new Client(peer.address, secured ?? ChannelCredentials.createInsecure(), options);
    const stream = client.makeBidiStreamRequest(paths[purpose], asBytes, asBytes, new Metadata());
    return new GrpcPipe({
      stream,
      sent: requests[purpose],
      received: responses[purpose],
      messageBytesMax: this.#config.linkMessageBytes,
      config: this.#config,
      binding: () => secured?.binding(stream.getPeer()) ?? plainBinding(peer.address),
      trust() {},
      end: () => {
        stream.cancel();
        client.close();
      },
      trouble: (error) => this.#troubles.tell(peer.address, error),
    });
  }

  #accept(
    listener: LinkListener,
    stream: ServerDuplexStream<Buffer, Buffer>,
    purpose: Purpose,
  ): Pipe | undefined {
    const peer = stream.getPeer();
    const connection = listener.of(peer);
    // The connection was closed before its stream was handled.
    if (connection === undefined) {
      stream.end();
      return undefined;
    }
    return new GrpcPipe({
      stream,
      sent: responses[purpose],
      received: requests[purpose],
      messageBytesMax: this.#config.messageBytesMax,
      config: this.#config,
      binding: () => connection.binding(),
      trust: () => connection.trust(),
      end: () => {
        stream.end();
        connection.dismiss();
      },
      trouble: (error) => this.#troubles.tell(peer, error),
    });
  }

  #mayTalkPlainly(address: string, attempt: string): void {
    if (this.#settings.plaintext === 'anywhere' || isLoopback(address)) return;
    throw new ClusterError(
      'not_serving',
      `links without TLS are limited to the loopback, so this node does not ${attempt} ${address}; set up TLS, or plaintext: 'anywhere'`,
      { notBegun: true },
    );
  }

  async #close(server: Server, listener: LinkListener): Promise<void> {
    this.#probes.close();
    // Streams have ended by now; closes connections that a peer keeps open.
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        server.forceShutdown();
        listener.close();
        resolve();
      });
    });
  }
}

function byteStream(path: string): ServiceDefinition[string] {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: asBytes,
    requestDeserialize: asBytes,
    responseSerialize: asBytes,
    responseDeserialize: asBytes,
  };
}

function withPort(host: string, port: number): string {
  if (isIPv6(host)) return `[${host}]:${port}`;
  return /:\d+$/.test(host) ? host : `${host}:${port}`;
}
