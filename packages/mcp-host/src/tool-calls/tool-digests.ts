import { createHash } from 'node:crypto';

/**
 * Makes digests of the definitions of tools, prompts and resources, and remembers each while its tool object lives. A definition is written
 * out only once, so the digest of a long list with few changes is cheap. Tool objects must not be changed.
 */
export class ToolDigests {
  readonly #known = new WeakMap<object, string>();

  /** Returns a digest that differs for any two definitions that differ. */
  of(tool: object): string {
    let digest = this.#known.get(tool);
    if (digest === undefined) {
      digest = digestOf(tool);
      this.#known.set(tool, digest);
    }
    return digest;
  }

  /** Returns a digest of lists of definitions, and of other data in JSON. */
  ofAll(lists: readonly (readonly object[])[], other: unknown = null): string {
    return digestOf([lists.map((tools) => tools.map((tool) => this.of(tool))), other]);
  }
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 22);
}
