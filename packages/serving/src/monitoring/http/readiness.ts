/** Tells whether a daemon can do its work. The reason is a code and a sentence that reveals nothing else to strangers. */
export type Readiness = { ready: true } | { ready: false; code: string; reason: string };

/** One line of `/readyz?verbose`. */
export interface HealthCheck {
  name: string;
  ok: boolean;
  detail: string;
}
