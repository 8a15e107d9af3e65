import {
  ChannelCredentials,
  Client,
  Server,
  ServerCredentials,
  type ClientDuplexStream,
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import {
  BareBatch,
  EchoRequest,
  EchoResponse,
  FlowRequest,
  FlowResponse,
  type BareFrame,
} from '../../generated/troupe/examples/v1/echo.js';

/** The baselines: plain grpc-js calls, and one grpc-js stream with frames batched per turn of the event loop. */
const service: ServiceDefinition = {
  echo: {
    path: '/bare/Echo',
    requestStream: false,
    responseStream: false,
    requestSerialize: (message: EchoRequest) => buffer(EchoRequest.encode(message).finish()),
    requestDeserialize: (bytes) => EchoRequest.decode(bytes),
    responseSerialize: (message: EchoResponse) => buffer(EchoResponse.encode(message).finish()),
    responseDeserialize: (bytes) => EchoResponse.decode(bytes),
  },
  flow: {
    path: '/bare/Flow',
    requestStream: false,
    responseStream: true,
    requestSerialize: (message: FlowRequest) => buffer(FlowRequest.encode(message).finish()),
    requestDeserialize: (bytes) => FlowRequest.decode(bytes),
    responseSerialize: (message: FlowResponse) => buffer(FlowResponse.encode(message).finish()),
    responseDeserialize: (bytes) => FlowResponse.decode(bytes),
  },
  batched: {
    path: '/bare/Batched',
    requestStream: true,
    responseStream: true,
    requestSerialize: (batch: BareBatch) => buffer(BareBatch.encode(batch).finish()),
    requestDeserialize: (bytes) => BareBatch.decode(bytes),
    responseSerialize: (batch: BareBatch) => buffer(BareBatch.encode(batch).finish()),
    responseDeserialize: (bytes) => BareBatch.decode(bytes),
  },
};

export async function startBareServer(): Promise<number> {
  const server = new Server();
  const echo: handleUnaryCall<EchoRequest, EchoResponse> = (call, respond) => respond(null, call.request);
  const flow: handleServerStreamingCall<FlowRequest, FlowResponse> = (call) => {
    const payload = new Uint8Array(call.request.bytes);
    let left = call.request.count;
    const write = (): void => {
      while (left > 0) {
        left -= 1;
        if (!call.write({ payload })) {
          call.once('drain', write);
          return;
        }
      }
      call.end();
    };
    write();
  };
  const batched: handleBidiStreamingCall<BareBatch, BareBatch> = (stream) => {
    const send = batcher((frames) => stream.write({ frames }));
    stream.on('data', ({ frames }: BareBatch) => {
      for (const frame of frames) send(frame);
    });
    stream.on('end', () => stream.end());
  };
  server.addService(service, { echo, flow, batched });
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}

export class BareClient {
  readonly #client: Client;
  readonly #stream: ClientDuplexStream<BareBatch, BareBatch>;
  readonly #waiting = new Map<number, (payload: Uint8Array) => void>();
  readonly #send: (frame: BareFrame) => void;
  #lastId = 0;

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure());
    this.#stream = this.#client.makeBidiStreamRequest(
      '/bare/Batched',
      (batch: BareBatch) => buffer(BareBatch.encode(batch).finish()),
      (bytes) => BareBatch.decode(bytes),
    );
    this.#stream.on('data', ({ frames }: BareBatch) => {
      for (const { id, payload } of frames) {
        this.#waiting.get(id)?.(payload);
        this.#waiting.delete(id);
      }
    });
    this.#stream.on('error', () => undefined);
    this.#send = batcher((frames) => this.#stream.write({ frames }));
  }

  unary(payload: Uint8Array): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        '/bare/Echo',
        (message: EchoRequest) => buffer(EchoRequest.encode(message).finish()),
        (bytes) => EchoResponse.decode(bytes),
        { payload },
        (error, answer) => (error === null ? resolve(answer) : reject(error)),
      );
    });
  }

  batched(payload: Uint8Array): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ id, payload });
    });
  }

  async flow(count: number, bytes: number): Promise<void> {
    const stream = this.#client.makeServerStreamRequest(
      '/bare/Flow',
      (message: FlowRequest) => buffer(FlowRequest.encode(message).finish()),
      (answer) => FlowResponse.decode(answer),
      { count, bytes },
    );
    for await (const _ of stream) continue;
  }

  close(): void {
    this.#stream.cancel();
    this.#client.close();
  }
}

function batcher(write: (frames: BareFrame[]) => void): (frame: BareFrame) => void {
  let frames: BareFrame[] = [];
  return (frame) => {
    frames.push(frame);
    if (frames.length > 1) return;
    setImmediate(() => {
      const batch = frames;
      frames = [];
      write(batch);
    });
  };
}

function buffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
