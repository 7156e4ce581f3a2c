import { errorsIn } from "../../wire/error-codes.ts";
import { ApiError } from "../common/errors.ts";
import { BASE_PATH, SOCKET_PATH } from "../common/paths.ts";
import { type Route, route } from "../routing/route.ts";

/** Answers a plain GET at the WebSocket's path. Handshakes do not come here. */
export const websocketRoute = (): Route =>
  route({
    method: "GET",
    path: SOCKET_PATH.slice(BASE_PATH.length),
    access: "PUBLIC",
    summary: "The WebSocket",
    description: "Accepts WebSocket handshakes only. [asyncapi.json](asyncapi.json) describes the messages.",
    replies: {},
    errors: errorsIn("OPEN_SOCKET"),
    handle({ call }) {
      call.header("Upgrade", "websocket");
      call.header("Connection", "Upgrade");
      throw new ApiError("UPGRADE_REQUIRED");
    },
  });
