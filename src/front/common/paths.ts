/** Every path of the API begins with this. */
export const BASE_PATH = "/v1";
/** The path of the WebSocket. The signature of a socket covers it. */
export const SOCKET_PATH = `${BASE_PATH}/ws`;
