import { SignalboxError } from '@signalbox/protocol';
import { closest } from 'fastest-levenshtein';

/** The entry of that name. Throws `SignalboxError` `server_not_found`, with the name that is most like it. */
export function serverNamed<T>(servers: ReadonlyMap<string, T>, name: string): T {
  const server = servers.get(name);
  if (server !== undefined) return server;
  const names = [...servers.keys()];
  const nearest = names.length > 0 ? closest(name, names) : undefined;
  const hint = nearest === undefined ? 'there are none' : `did you mean '${nearest}'?`;
  throw new SignalboxError('server_not_found', `no server is named '${name.slice(0, 128)}'; ${hint}`, {
    details: nearest === undefined ? {} : { nearest },
  });
}
