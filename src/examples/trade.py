"""Places an order, watches it on the account's stream, and cancels it. Needs: pip install requests websockets"""
import asyncio, hashlib, hmac, json, os, time
import requests, websockets

URL = os.environ.get("PERPD_URL", "http://127.0.0.1:8080/v1").removesuffix("/v1")
KEY, SECRET = os.environ["PERPD_API_KEY"], os.environ["PERPD_SECRET"]

def sign(text):
    return hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()

def call(method, path, body=None):
    text = "" if body is None else json.dumps(body)
    now = str(time.time_ns() // 1_000_000)
    headers = {"X-Api-Key": KEY, "X-Timestamp": now, "X-Signature": sign(now + method + path + text)}
    reply = requests.request(method, URL + path, data=text, headers=headers | {"Content-Type": "application/json"}, timeout=10)
    if not reply.ok:
        raise RuntimeError(reply.json()["code"] + ": " + reply.json()["message"])
    return reply.json()

async def main():
    async with websockets.connect(URL.replace("http", "ws", 1) + "/v1/ws") as socket:
        now = time.time_ns() // 1_000_000
        await socket.send(json.dumps({"op": "auth", "apiKey": KEY, "timestamp": now, "signature": sign(f"{now}GET/v1/ws")}))
        await socket.send(json.dumps({"op": "subscribe", "channels": [{"channel": "orders", "symbol": "BTC-PERP"}]}))
        order = None
        async for text in socket:
            message = json.loads(text)
            if message.get("op") == "error":
                raise RuntimeError(message["code"] + ": " + message["message"])
            if message.get("op") == "subscribed":
                mark = float(call("GET", "/v1/market/ticker?symbol=BTC-PERP")["markPrice"])
                order = call("POST", "/v1/orders", {"symbol": "BTC-PERP", "side": "BUY", "type": "LIMIT", "postOnly": True,
                                                    "price": f"{mark * 0.99:.0f}", "quantity": "0.01"})
            for row in message.get("data", []):
                if order is None or row["orderId"] != order["orderId"]:
                    continue
                print(row["orderId"], row["status"], row["price"])
                if row["status"] != "NEW":
                    return
                call("DELETE", "/v1/orders/" + row["orderId"])

asyncio.run(main())
