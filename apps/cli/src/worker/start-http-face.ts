import { formatListenAddress, listenError } from '@signalbox/daemon/config/internal';
import { type HttpFace, type HttpFaceOptions, serveHttpFace } from '@signalbox/worker';

/** Starts an HTTP face. If it can't listen, rejects with an error that says why, and `elsewhere`: how another address is chosen. */
export async function startHttpFace(options: HttpFaceOptions, elsewhere: string): Promise<HttpFace> {
  try {
    return await serveHttpFace(options);
  } catch (cause) {
    throw listenError(cause, formatListenAddress(options.listen), elsewhere) ?? cause;
  }
}
