/** The addresses at which browsers and services reach a broker. */
export interface ReachedAt {
  /** The origins, such as `https://signalbox.example.com`: those that the broker trusts, then its own. Empty until it listens. */
  origins: readonly string[];
}
