"""Classes of models that clformer does not run through this module."""


class Unavailable:
    message = "clformer runs encoder-decoder models; this kind is not available"

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(self.message)


class Encoder(Unavailable):
    pass


class Generator(Unavailable):
    pass
