import {
  Client,
  Metadata,
  Server,
  status,
  type handleBidiStreamingCall,
  type handleUnaryCall,
  type sendUnaryData,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import {
  CallsRequest,
  CallsResponse,
  PeerServiceDefinition,
  ProbeRequest as ProbeRequestMessage,
  ProbeResponse as ProbeResponseMessage,
} from '../../../generated/troupe/cluster/v1/link.js';
import { ClusterError, toClusterError } from '../../errors.js';
import type { Member } from '../../membership/membership.js';
import type { PeerProbe, ProbeAnswer, ProbeReply, ProbeRequest } from '../../membership/peer-probe.js';
import type { Random } from '../../time/time.js';
import { encode } from '../encoder.js';
import { equal, sign } from '../handshake.js';
import type { Listener, Pipe, Transport } from '../pipe.js';
import { GrpcPipe, lostBy } from './pipe.js';
import { requestFrom, requestTo, replyFrom, replyTo } from './probe-messages.js';
import {
  clientCredentials,
  clientOptions,
  serverCredentials,
  serverOptions,
  type GrpcSettings,
} from './settings.js';

const path = (method: 'Calls' | 'Probe'): string => `/${PeerServiceDefinition.fullName}/${method}`;

const service: ServiceDefinition = {
  calls: {
    path: path('Calls'),
    requestStream: true,
    responseStream: true,
    requestSerialize: (batch: CallsRequest) => buffer(encode(CallsRequest, batch)),
    requestDeserialize: (bytes) => CallsRequest.decode(bytes),
    responseSerialize: (batch: CallsResponse) => buffer(encode(CallsResponse, batch)),
    responseDeserialize: (bytes) => CallsResponse.decode(bytes),
  },
  probe: {
    path: path('Probe'),
    requestStream: false,
    responseStream: false,
    requestSerialize: (message: ProbeRequestMessage) => buffer(ProbeRequestMessage.encode(message).finish()),
    requestDeserialize: (bytes) => ProbeRequestMessage.decode(bytes),
    responseSerialize: (message: ProbeResponseMessage) =>
      buffer(ProbeResponseMessage.encode(message).finish()),
    responseDeserialize: (bytes) => ProbeResponseMessage.decode(bytes),
  },
};

type ProbeHandler = (request: ProbeRequest) => ProbeReply | Promise<ProbeReply>;

/**
 * gRPC between the processes of a cluster. Calls go over one bidi stream per link, probes as unary calls over
 * a channel of their own, so that megabytes of calls never make a peer look dead. Every connection sets
 * TCP_NODELAY (Node's HTTP/2 does so by itself): the frames of one turn leave at once.
 */
export class GrpcPeers implements Transport, PeerProbe {
  readonly #settings: GrpcSettings;
  readonly #random: Random;
  readonly #probes = new Map<string, Client>();
  #server: Server | undefined;
  #probeHandler: ProbeHandler | undefined;

  constructor(settings: GrpcSettings, random: Random) {
    this.#settings = settings;
    this.#random = random;
  }

  dial(peer: Member, signal: AbortSignal): Promise<Pipe> {
    if (signal.aborted) return Promise.reject(new ClusterError('cancelled', 'the dial was given up'));
    const client = new Client(peer.address, clientCredentials(this.#settings), clientOptions(this.#settings));
    const stream = client.makeBidiStreamRequest(
      path('Calls'),
      (batch: CallsRequest) => buffer(encode(CallsRequest, batch)),
      (bytes) => CallsResponse.decode(bytes),
      new Metadata(),
    );
    const pipe = new GrpcPipe(stream, () => {
      stream.cancel();
      client.close();
    });
    signal.addEventListener('abort', () => pipe.close(), { once: true });
    // The greeting that follows tells whether anybody is there.
    return Promise.resolve(pipe);
  }

  async listen(accept: (pipe: Pipe) => void): Promise<Listener> {
    const server = new Server(serverOptions);
    const calls: handleBidiStreamingCall<CallsRequest, CallsResponse> = (stream) => {
      accept(new GrpcPipe(stream, () => stream.end()));
    };
    const probe: handleUnaryCall<ProbeRequestMessage, ProbeResponseMessage> = (call, respond) => {
      void this.#respond(call.request, respond);
    };
    server.addService(service, { calls, probe });
    const { host, port, advertise } = this.#settings;
    const bound = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`${host}:${port}`, serverCredentials(this.#settings), (error, boundPort) => {
        if (error === null) resolve(boundPort);
        else reject(new ClusterError('not_serving', `cannot listen on ${host}:${port}`, { cause: error }));
      });
    });
    this.#server = server;
    const address = advertise === undefined ? `${host}:${bound}` : withPort(advertise, bound);
    return { address, close: () => this.#close(server) };
  }

  answerWith(handler: ProbeHandler): void {
    this.#probeHandler = handler;
  }

  ask(peer: Member, request: ProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
    const { cluster, secret } = this.#settings;
    const nonce = Buffer.from(this.#random.id(), 'hex');
    const proof = sign(secret, ['probe', cluster, request.from, peer.process], nonce);
    const message = requestTo(request, { cluster, to: peer.process, nonce, proof });
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(new ClusterError('deadline_exceeded', 'the probe was given up'));
        return;
      }
      const call = this.#probeClient(peer).makeUnaryRequest<ProbeRequestMessage, ProbeResponseMessage>(
        path('Probe'),
        (value) => buffer(ProbeRequestMessage.encode(value).finish()),
        (bytes) => ProbeResponseMessage.decode(bytes),
        message,
        new Metadata(),
        (error, response) => {
          signal.removeEventListener('abort', giveUp);
          if (error !== null) {
            const lost = lostBy(error);
            // A channel that has failed would keep its own pace of dialing; the next probe starts afresh.
            this.#forget(peer);
            if (lost.refused || error.code === status.FAILED_PRECONDITION) resolve({ outcome: 'refused' });
            else reject(lost);
            return;
          }
          const expected = sign(secret, ['probed', cluster, request.from, peer.process], nonce);
          if (response === undefined || !equal(response.proof, expected)) {
            reject(new ClusterError('wrong_secret', `${peer.process} does not know the cluster secret`));
            return;
          }
          resolve({ outcome: 'replied', reply: replyFrom(response) });
        },
      );
      const giveUp = (): void => call.cancel();
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  async #respond(request: ProbeRequestMessage, respond: sendUnaryData<ProbeResponseMessage>): Promise<void> {
    try {
      respond(null, await this.#answer(request));
    } catch (error) {
      const { message, tag } = toClusterError(error);
      const code = tag === 'wrong_process' ? status.FAILED_PRECONDITION : status.PERMISSION_DENIED;
      respond({ code, details: message });
    }
  }

  async #answer(request: ProbeRequestMessage): Promise<ProbeResponseMessage> {
    const { cluster, secret, self } = this.#settings;
    const proof = sign(secret, ['probe', cluster, request.from, request.to], request.nonce);
    if (request.cluster !== cluster || !equal(request.proof, proof)) {
      throw new ClusterError('wrong_secret', `${request.from} does not know the secret of this cluster`);
    }
    if (request.to !== self) throw new ClusterError('wrong_process', `${self} answers here`);
    if (this.#probeHandler === undefined) throw new ClusterError('not_serving', 'not started yet');
    const reply = await this.#probeHandler(requestFrom(request));
    return replyTo(reply, sign(secret, ['probed', cluster, request.from, request.to], request.nonce));
  }

  #probeClient(peer: Member): Client {
    const key = `${peer.address} ${peer.process}`;
    let client = this.#probes.get(key);
    if (client === undefined) {
      client = new Client(peer.address, clientCredentials(this.#settings), clientOptions(this.#settings));
      this.#probes.set(key, client);
    }
    return client;
  }

  #forget(peer: Member): void {
    const key = `${peer.address} ${peer.process}`;
    this.#probes.get(key)?.close();
    this.#probes.delete(key);
  }

  async #close(server: Server): Promise<void> {
    for (const client of this.#probes.values()) client.close();
    this.#probes.clear();
    // Streams have been ended by now; what a peer keeps open is cut.
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        server.forceShutdown();
        resolve();
      });
    });
    if (this.#server === server) this.#server = undefined;
  }
}

function buffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function withPort(advertise: string, port: number): string {
  return /:\d+$/.test(advertise) ? advertise : `${advertise}:${port}`;
}
