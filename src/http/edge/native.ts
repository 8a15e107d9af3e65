import type { us_listen_socket } from 'uWebSockets.js';

// The package's types leave out the form of `listen` that takes a host and options together.
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
