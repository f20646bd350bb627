import { nearestName, SignalboxError } from '@signalbox/protocol';

/** The entry of that name. Throws `SignalboxError` `server_not_found`, with the name that is most like it. */
export function serverNamed<T>(servers: ReadonlyMap<string, T>, name: string): T {
  const server = servers.get(name);
  if (server !== undefined) return server;
  const names = [...servers.keys()];
  const nearest = nearestName(name, names);
  const known = names.length > 0 ? `there are: ${names.join(', ')}` : 'there are none';
  const hint = nearest === undefined ? known : `did you mean '${nearest}'?`;
  throw new SignalboxError('server_not_found', `no server is named '${name.slice(0, 128)}'; ${hint}`, {
    details: nearest === undefined ? {} : { nearest },
  });
}
