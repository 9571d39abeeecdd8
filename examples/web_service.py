"""A web service: two worker processes and one database. Any worker goes on with any session.

DATABASE_URL=postgresql://… python web_service.py & curl -d 'Hello!' 127.0.0.1:8000/my-session"""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing import Process

from psycopg_pool import ConnectionPool

from transcript_log import Session, Target, testing
from transcript_log.postgres import PostgresStore

TARGET = Target("openai-responses", "gpt-5.4")


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        store = PostgresStore(self.server.pool, self.path.strip("/"))
        with Session(store, mode="exclusive", wait=60) as session:  # one turn at a time, in any worker
            session.add({"role": "user", "content": text})
            context = session.context(TARGET)
            # The real one: client.responses.create(model=TARGET.model, input=context.items, store=False)
            model = testing.ScriptedModel(TARGET, [f"Answer {len(context.items)}, by {os.getpid()}"])
            answer = session.add_response(model(context.items), to=context)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer.text.encode())


def work():
    HTTPServer.allow_reuse_port = True  # the system deals the requests out to the workers
    server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Handler)
    with server, ConnectionPool(os.environ["DATABASE_URL"], open=True) as server.pool:
        server.serve_forever()


if __name__ == "__main__":
    [Process(target=work).start() for _ in range(2)]
