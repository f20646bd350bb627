/** Identifies a call: an agent chooses the ids of its own requests, so only both together are unique. */
export interface CallKey {
  agent: string;
  requestId: string;
}
