import { normalUri } from '@signalbox/protocol';

/** The followers of one resource, by the spelling in which its server is asked. */
type Spellings = Map<string, Set<() => void>>;

/** The followers of one server's resources, by instance and normal form of the URI. */
export class ResourceFollowers {
  readonly #followers = new Map<string, Map<string, Spellings>>();

  /** Adds a follower. Returns false if the instance follows the URI already, in this spelling. */
  add(key: string, uri: string, onUpdated: () => void): boolean {
    const ofInstance = this.#followers.get(key) ?? new Map<string, Spellings>();
    this.#followers.set(key, ofInstance);
    const spellings: Spellings = ofInstance.get(normalUri(uri)) ?? new Map();
    ofInstance.set(normalUri(uri), spellings);
    const followers = spellings.get(uri);
    if (followers) followers.add(onUpdated);
    else spellings.set(uri, new Set([onUpdated]));
    return followers === undefined;
  }

  /** Removes a follower. Returns true if it was the last one of the URI at the instance, in this spelling. */
  remove(key: string, uri: string, onUpdated: () => void): boolean {
    const ofInstance = this.#followers.get(key);
    const spellings = ofInstance?.get(normalUri(uri));
    const followers = spellings?.get(uri);
    if (!ofInstance || !spellings || !followers?.delete(onUpdated) || followers.size > 0) return false;
    spellings.delete(uri);
    if (spellings.size === 0) ofInstance.delete(normalUri(uri));
    if (ofInstance.size === 0) this.#followers.delete(key);
    return true;
  }

  /** Returns the URIs that have followers at an instance. */
  urisOf(key: string): ReadonlySet<string> {
    const ofInstance = this.#followers.get(key)?.values() ?? [];
    return new Set([...ofInstance].flatMap((spellings) => [...spellings.keys()]));
  }

  /** Tells the followers of a resource, whatever spelling its server uses. Returns false if there are none. */
  tell(key: string, uri: string): boolean {
    const spellings = this.#followers.get(key)?.get(normalUri(uri));
    for (const followers of [...(spellings?.values() ?? [])])
      for (const onUpdated of [...followers]) onUpdated();
    return spellings !== undefined;
  }
}
