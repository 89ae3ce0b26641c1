"""OpenML in small: a real HTTP server on the loopback interface that serves data sets in OpenML's formats."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

API = "/api/v1/xml"
XMLNS = 'xmlns:oml="http://openml.org/openml"'


@dataclass
class Dataset:
    """One task and its data set; both have the same number here."""

    id: int
    arff: str
    target: str | None = "y"
    default_target: str | None = "y"
    parquet: bytes | None = None
    extra: str = ""  # more elements of the description
    format: str = "ARFF"
    types: dict[str, str] | None = None  # of its columns, as OpenML describes them


class Server(ThreadingHTTPServer):
    """Answers from `pages`, and keeps account in `log`.

    `faults[path]` is an iterator with one entry for each request of that path: a status to answer with, "truncated",
    "closed", "garbled", or None for the page itself.
    """

    daemon_threads = True

    def __init__(self, datasets: list[Dataset]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, bytes] = {}
        self.faults: dict[str, Iterator[str | int | None]] = {}
        self.error_page = b"<html><body>busy</body></html>"
        self.log: list[str] = []
        self.root = f"http://127.0.0.1:{self.server_port}"
        self.url = self.root + API
        for dataset in datasets:
            self.add(dataset)

    def __enter__(self) -> "Server":
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def add(self, dataset: Dataset) -> None:
        number, arff = dataset.id, dataset.arff.encode()
        self.pages[f"{API}/task/{number}"] = task_xml(number, dataset.target).encode()
        self.pages[f"{API}/data/{number}"] = self._description(dataset).encode()
        self.pages[f"/data/{number}.arff"] = arff
        if dataset.types is not None:
            self.pages[f"{API}/data/features/{number}"] = features_xml(dataset.types).encode()
        if dataset.parquet is not None:
            self.pages[f"/datasets/{number}/dataset_{number}.pq"] = dataset.parquet

    def _description(self, dataset: Dataset) -> str:
        n = dataset.id
        target = dataset.default_target
        parts = [
            f"<oml:id>{n}</oml:id><oml:name>set_{n}</oml:name><oml:version>1</oml:version>",
            f"<oml:description>A small data set.</oml:description><oml:format>{dataset.format}</oml:format>",
            f"<oml:url>{self.root}/data/{n}.arff</oml:url>",
            f"<oml:default_target_attribute>{target}</oml:default_target_attribute>" if target else "",
            f"<oml:parquet_url>{self.root}/datasets/{n}/dataset_{n}.pq</oml:parquet_url>" if dataset.parquet else "",
            f"<oml:md5_checksum>{hashlib.md5(dataset.arff.encode()).hexdigest()}</oml:md5_checksum>",
            "<oml:status>active</oml:status>",
        ]
        return f"<oml:data_set_description {XMLNS}>{''.join(parts)}{dataset.extra}</oml:data_set_description>"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        path = self.path
        self.server.log.append(f"{self.command} {path}")
        fault = next(self.server.faults.get(path, iter(())), None)
        page = self.server.pages.get(path)
        if fault == "closed":
            return
        if isinstance(fault, int):
            self.answer(fault, self.server.error_page, "text/html")
        elif page is None:
            code = 151 if "/task/" in path else 111
            text = (
                f"<oml:error {XMLNS}><oml:code>{code}</oml:code><oml:message>Unknown number</oml:message></oml:error>"
            )
            self.answer(412, text.encode(), "application/xml")
        elif fault == "garbled":
            self.answer(200, page.swapcase())
        else:
            self.answer(200, page, cut=len(page) // 2 if fault == "truncated" else None)

    do_HEAD = do_GET

    def answer(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8", cut: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
        self.send_header("Last-Modified", "Fri, 01 Dec 2023 12:00:00 GMT")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:cut])

    def log_message(self, *_: object) -> None:
        pass


def features_xml(types: dict[str, str]) -> str:
    parts = [
        f"<oml:feature><oml:index>{i}</oml:index><oml:name>{name}</oml:name><oml:data_type>{kind}</oml:data_type>"
        + ("<oml:nominal_value>0</oml:nominal_value>" if kind == "nominal" else "")
        + "</oml:feature>"
        for i, (name, kind) in enumerate(types.items())
    ]
    return f"<oml:data_features {XMLNS}>{''.join(parts)}</oml:data_features>"


def task_xml(number: int, target: str | None) -> str:
    feature = f"<oml:target_feature>{target or ''}</oml:target_feature>"
    data = f"<oml:data_set><oml:data_set_id>{number}</oml:data_set_id>{feature}</oml:data_set>"
    folds = (
        '<oml:parameter name="number_repeats">1</oml:parameter><oml:parameter name="number_folds">10</oml:parameter>'
    )
    url = "<oml:data_splits_url>http://127.0.0.1:9/splits</oml:data_splits_url>"
    procedure = f"<oml:estimation_procedure><oml:type>crossvalidation</oml:type>{url}{folds}</oml:estimation_procedure>"
    return (
        f"<oml:task {XMLNS}><oml:task_id>{number}</oml:task_id><oml:task_name>Task {number}</oml:task_name>"
        "<oml:task_type_id>2</oml:task_type_id><oml:task_type>Supervised Regression</oml:task_type>"
        f'<oml:input name="source_data">{data}</oml:input>'
        f'<oml:input name="estimation_procedure">{procedure}</oml:input></oml:task>'
    )
