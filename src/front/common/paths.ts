/** All that the server answers lies below this. */
export const BASE_PATH = "/v1";
/** Where it speaks WebSocket, and what a socket's signature covers. */
export const SOCKET_PATH = `${BASE_PATH}/ws`;
