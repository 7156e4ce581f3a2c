import uWS from "uWebSockets.js";
import { CANCELED, PLACED } from "../load/quote-answers.ts";
import { BarePipeline } from "./bare-pipeline.ts";

/**
 * The baseline of perpd's gateway: uWebSockets.js with the least work possible. Prints its port.
 * POST parses the JSON body and replies with a fixed text; GET replies with a fixed text. A WebSocket echoes its
 * messages. At /answer it parses them and replies as POST does. At /quote it has one reply for placing an order and one
 * for canceling it. At /pipeline, POST and WebSocket reply after the request went through the bare pipeline. With
 * `publishedBytes`, each WebSocket is greeted, and each POST publishes two messages to all of them, each on its own
 * topic.
 * Arguments, in bytes: replies to POST and to GET, the two published messages together (0 = none), replies to an order
 * and to its cancel.
 */
const [postBytes = 0, getBytes = 0, publishedBytes = 0, placedBytes = 0, canceledBytes = 0] = process.argv
  .slice(2)
  .map(Number);
const text = (bytes: number): string => "x".repeat(bytes);
const postReply = text(postBytes);
const getReply = Buffer.from(text(getBytes));
const messages = [text(Math.floor(publishedBytes / 2)), text(Math.ceil(publishedBytes / 2))];
const TOPICS = ["a", "b"];
const decoder = new TextDecoder("utf-8", { fatal: true });
let parsed = 0;

const app = uWS.App();
const parse = (bytes: ArrayBuffer): { symbol?: string; op?: string } => {
  const body = JSON.parse(decoder.decode(bytes));
  if (body.symbol !== undefined) parsed++;
  return body;
};
const answer = (response: uWS.HttpResponse): void => {
  response.writeStatus("201 Created");
  response.writeHeader("Content-Type", "application/json");
  response.end(postReply);
};

let pipeline: BarePipeline | null = null;
/** Created on first use: only few measurements need its threads. */
const roundTrip = (request: ArrayBuffer, onDurable: () => void): void => {
  pipeline ??= new BarePipeline();
  pipeline.send(new Uint8Array(request), onDurable);
};

app.post("/pipeline", (response) => {
  let isAborted = false;
  response.onAborted(() => {
    isAborted = true;
  });
  response.onData((chunk, isLast) => {
    if (!isLast) return;
    parse(chunk);
    roundTrip(chunk, () => {
      if (!isAborted) response.cork(() => answer(response));
    });
  });
});
app.post("/*", (response) => {
  response.onAborted(() => {});
  response.onData((chunk, isLast) => {
    if (!isLast) return;
    parse(chunk);
    response.cork(() => answer(response));
    if (publishedBytes > 0) for (const [i, topic] of TOPICS.entries()) app.publish(topic, messages[i], false);
  });
});
app.get("/*", (response) => {
  response.writeHeader("Content-Type", "application/json");
  response.end(getReply);
});
app.ws("/*", {
  compression: uWS.DISABLED,
  open(socket) {
    for (const topic of TOPICS) socket.subscribe(topic);
    if (publishedBytes > 0) socket.send("hello");
  },
  message(socket, message) {
    socket.send(message);
  },
});
app.ws("/answer", {
  compression: uWS.DISABLED,
  message(socket, message) {
    parse(message);
    socket.send(postReply);
  },
});
app.ws<{ isClosed: boolean }>("/pipeline", {
  compression: uWS.DISABLED,
  open(socket) {
    socket.getUserData().isClosed = false;
  },
  message(socket, message) {
    parse(message);
    const user = socket.getUserData();
    roundTrip(message, () => {
      if (!user.isClosed) socket.send(postReply);
    });
  },
  close(socket) {
    socket.getUserData().isClosed = true;
  },
});
const placedReply = `${PLACED}1000000"`.padEnd(placedBytes);
const canceledReply = CANCELED.padEnd(canceledBytes);
app.ws("/quote", {
  compression: uWS.DISABLED,
  message(socket, message) {
    socket.send(parse(message).op === "order.cancel" ? canceledReply : placedReply);
  },
});
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) throw new Error("cannot listen");
  console.log(uWS.us_socket_local_port(socket));
});
process.on("SIGTERM", () => process.exit(parsed >= 0 ? 0 : 1));
