import { type ListenAddress, parseListenAddress } from '@signalbox/daemon/config';
import { SignalboxError } from '@signalbox/protocol';

/** Reads the option `--listen`. Throws `usage`. */
export function listenOption(text: string | undefined): ListenAddress | undefined {
  if (text === undefined) return undefined;
  const address = parseListenAddress(text);
  if (address) return address;
  throw new SignalboxError('usage', `--listen '${text}' is not HOST:PORT, as in 127.0.0.1:7420`);
}
