import type { us_listen_socket } from 'uWebSockets.js';

// The package's types lack the overload of `listen` with both a host and options.
declare module 'uWebSockets.js' {
  interface TemplatedApp {
    listen(
      host: string,
      port: number,
      options: number,
      callback: (listenSocket: us_listen_socket | false) => void,
    ): TemplatedApp;
  }
}

/** `LIBUS_LISTEN_EXCLUSIVE_PORT` of the native library. */
export const listenExclusively = 1;
