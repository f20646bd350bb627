/** The followers of one server's resources, by instance and URI. */
export class ResourceFollowers {
  readonly #followers = new Map<string, Map<string, Set<() => void>>>();

  /** Adds a follower. Returns false if the instance follows the URI already. */
  add(key: string, uri: string, onUpdated: () => void): boolean {
    const ofInstance = this.#followers.get(key) ?? new Map<string, Set<() => void>>();
    this.#followers.set(key, ofInstance);
    const followers = ofInstance.get(uri);
    if (followers) followers.add(onUpdated);
    else ofInstance.set(uri, new Set([onUpdated]));
    return followers === undefined;
  }

  /** Removes a follower. Returns true if it was the last one of the URI at the instance. */
  remove(key: string, uri: string, onUpdated: () => void): boolean {
    const ofInstance = this.#followers.get(key);
    const followers = ofInstance?.get(uri);
    if (!ofInstance || !followers?.delete(onUpdated) || followers.size > 0) return false;
    ofInstance.delete(uri);
    if (ofInstance.size === 0) this.#followers.delete(key);
    return true;
  }

  /** Returns the URIs that have followers at an instance. */
  urisOf(key: string): ReadonlySet<string> {
    return new Set(this.#followers.get(key)?.keys());
  }

  /** Tells the followers of a URI. Returns false if there are none. */
  tell(key: string, uri: string): boolean {
    const followers = this.#followers.get(key)?.get(uri);
    for (const onUpdated of [...(followers ?? [])]) onUpdated();
    return followers !== undefined;
  }
}
