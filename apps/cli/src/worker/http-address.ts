import { type ListenAddress, parseListenAddress } from '@signalbox/daemon/config';
import { SignalboxError } from '@signalbox/protocol';

/** Reads the option `--http`. Throws `usage`. */
export function httpAddress(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (address) return address;
  throw new SignalboxError('usage', `--http '${text}' is not HOST:PORT, as in 127.0.0.1:7421`);
}
