import uWS from "uWebSockets.js";

/**
 * The limit that perpd's front is held against: uWebSockets.js doing the least a server can do. POST parses the JSON body
 * and answers with a fixed text, GET answers with one. Prints its port; the sizes of the answers are its arguments.
 */
const [postBytes, getBytes] = process.argv.slice(2).map(Number);
const postReply = "x".repeat(postBytes ?? 500);
const getReply = Buffer.from("x".repeat(getBytes ?? 500));
const decoder = new TextDecoder("utf-8", { fatal: true });
let parsed = 0;

const app = uWS.App();
app.post("/*", (response) => {
  response.onAborted(() => {});
  response.onData((chunk, isLast) => {
    if (!isLast) return;
    const body = JSON.parse(decoder.decode(chunk)) as { symbol?: string };
    if (body.symbol !== undefined) parsed++;
    response.cork(() => {
      response.writeStatus("201 Created");
      response.writeHeader("Content-Type", "application/json");
      response.end(postReply);
    });
  });
});
app.get("/*", (response) => {
  response.writeHeader("Content-Type", "application/json");
  response.end(getReply);
});
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) throw new Error("cannot listen");
  console.log(uWS.us_socket_local_port(socket));
});
process.on("SIGTERM", () => process.exit(parsed >= 0 ? 0 : 1));
