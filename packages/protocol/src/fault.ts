/** Called at a named point of a process's work; what it does there is injected, by default nothing. */
export type Fault = (point: string) => void;

/** The fault port of every ordinary run. */
export const noFault: Fault = () => {};
