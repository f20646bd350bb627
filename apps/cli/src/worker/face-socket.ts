/** The name of the face's socket, which lies beside that of its broker. */
export const faceSocketName = 'face.sock';

/** The facts that a shared face announces when it is ready. */
export interface FaceReady {
  socket: string;
  broker: string;
}
